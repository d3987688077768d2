"""Makes what the app ships: sample pictures, sentences, measures of the bundled clips, the photographs' teacher."""
