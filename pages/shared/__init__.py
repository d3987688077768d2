"""Parts that several pages use: language, navigation, the frame, URL state, plots that update in place, map explorers.

How pages cache: a function of a page that computes something is cached for all viewers by

    HASHES = {Classifier: lambda one: one.fingerprint, Picture: lambda one: one.id}  # what identifies an argument

    @st.cache_resource(show_spinner=False, max_entries=64, hash_funcs=HASHES)
    def analysis(classifier: Classifier, picture: Picture) -> PictureAnalysis: ...

`hash_funcs` names what identifies each argument (a checkpoint's card, a picture's file), `max_entries` bounds the memory, and the
result is shared, so that nobody writes to it. `st.cache_data`, which copies the result at every call, is for small results of
plain numbers and strings. What a visitor brings is kept by `core.store.BoundedStore`.
"""
