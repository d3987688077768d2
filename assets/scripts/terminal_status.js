// The feed's status in words: how far a window is, how long nothing was heard, and when the venue was asked meanwhile.

import { fillIn } from "../../attention_light/scripts/dom.js";

const QUIET_MS = 5_000; // without a message, after which that is said
const WAITING = 4; // rows that the venue has not confirmed, above which that is said: one always waits for its next message
const UNKNOWN = ["connecting", "reconnecting", "stale", "interrupted", "failed"]; // statuses in which the book of now is not known

export const bookKnown = ({ status }, { statusNames }) => !UNKNOWN.includes(statusNames[status]);

// Milliseconds since the newest message, where they are many. `ageMs`: since the newest row's book came or was asked for; NaN for
// what is not followed.
export function quietFor({ receivedMs, heardMs }, ageMs) {
  const quiet = ageMs + Math.max(0, receivedMs - heardMs);
  return receivedMs && quiet > QUIET_MS ? quiet : 0;
}

export function statusWords(store, ageMs, { statusNames, states, labels }, format) {
  const [name, state, quiet] = [statusNames[store.status], states[store.status] ?? "", quietFor(store, ageMs)];
  if (name === "warming") return state.replace("{done}", store.warm);
  if (name === "stale") return fillIn(labels.silent, { time: format.time(store.heardMs) });
  if (!quiet) return store.provisional > WAITING ? `${state} · ${labels.provisional}` : state;
  const [span, asked] = [quiet, ageMs].map((ms) => format.span(Math.round(ms / 1000), "second"));
  return `${state} · ${fillIn(store.receivedMs > store.heardMs ? labels.noMessageAsked : labels.noMessage, { span, asked })}`;
}
