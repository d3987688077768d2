"""Parts that several pages use: language, navigation, the frame, URL state, plots that update in place, map explorers.

How pages cache: what a computation made of a picture, a clip or a window by `kept_results.kept`; small results of plain numbers
and strings by `st.cache_data`, which copies them at every call; models by `core.checkpoints.once_a_card`. What a visitor brings
is kept by `core.store.BoundedStore`.
"""
