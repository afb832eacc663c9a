"""Chats from and to files: one small module for each format.

A format that is read has `recognizes(value)`, which says whether a JSON value is one chat of it,
and `read(value)`, which gives the chat or raises `Damaged`.
"""
