"""OpenAI's completions: requests in that form to prompts, answers to replies in that form.

Nothing here knows how a request came: the server and batches of files share it.
"""
