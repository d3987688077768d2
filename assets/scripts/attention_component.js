// The attention view as a component of a page.
import { mounted } from "./dom.js";
import { PageView } from "./attention_view.js";

export const receive = mounted((parent) => new PageView(parent));
