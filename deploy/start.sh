#!/bin/sh
# Starts the app in its image. A Hugging Face Space names its host in SPACE_HOST, shows the app in a frame of its own page, and a
# browser keeps no cookie of a frame of another site: Streamlit's check of uploads by cookie goes, that by `Origin` stays.
if [ -n "$SPACE_HOST" ]; then
  export OBSERVATORY_HOSTS="$SPACE_HOST" OBSERVATORY_FRAMES="https://huggingface.co" OBSERVATORY_PROXIES="*"
  export STREAMLIT_SERVER_ENABLE_XSRF_PROTECTION=false
fi
exec python -m streamlit run streamlit_app.py --server.port "${PORT:-8501}" --server.address 0.0.0.0
