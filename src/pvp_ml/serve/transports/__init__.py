"""How requests arrive: JSON lines, HTTP, WebSocket."""
