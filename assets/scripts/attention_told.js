// The attention view as a component that tells the app what the reader presses.
import { PageView } from "./attention_component.js";
import { mounted } from "./mounted.js";

export const receive = mounted((parent) => new PageView(parent, true));
