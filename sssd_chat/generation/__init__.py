"""The decoding loop: what is drafted is verified, what the target would have written is kept.

Import from the modules; this file stays empty so that the screen can name an event without
loading numpy.
"""
