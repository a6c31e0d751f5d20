"""Facts one can ask: Oxigraph."""
