import streamlit

name = streamlit.text_input("Name")
if streamlit.button("Greet"):
    streamlit.write(f"Hello {name}!")
