"""The browser process, the MiniWoB++ page in it, native input, and certification."""
