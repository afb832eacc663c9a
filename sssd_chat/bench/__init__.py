"""Measurements: drafters over recordings, and the real model live."""
