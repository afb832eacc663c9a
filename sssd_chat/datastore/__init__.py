"""The personal datastore: suffix arrays over token ids, on disk, that grow and forget.

Text is the truth (in the history of chats, or in the store of imported texts); what lies here is
derived from it, one folder for each vocabulary, and can be built again at any time.
"""
