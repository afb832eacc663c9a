"""llama.cpp: models, vocabularies, the KV cache, samplers. The only room that knows its C API."""
