"""Everything that knows something: models, markets, figures. It works without the app and never imports it."""
