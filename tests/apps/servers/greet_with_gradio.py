import sys

import gradio

demo = gradio.Interface(lambda name: f"Hello {name}!", "text", "text")
demo.launch(server_name="127.0.0.1", server_port=int(sys.argv[1]), quiet=True)
