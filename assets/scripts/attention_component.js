// The attention view as a component of a page.
import { unpack } from "../../attention_light/scripts/layers.js";
import { mount } from "../../attention_light/scripts/view.js";
import { keepInAddress } from "./kept.js";
import { mounted } from "./mounted.js";

export const receive = mounted((parent) => new PageView(parent));

// Scripts that a file of its own is joined from, in this order.
const PARTS = ["colours.js", "dom.js", "layers.js", "stages.js", "files.js", "view.js"].map((name) => new URL(`../../attention_light/scripts/${name}`, import.meta.url).href);

// The style sheet's rules of this view, for a file of its own.
function ownStyle() {
  const rules = [...document.styleSheets].flatMap((sheet) => {
    try {
      return [...sheet.cssRules];
    } catch {
      return []; // a sheet of another origin
    }
  });
  return rules.filter((rule) => /\.attention-|--ao-night:/.test(rule.cssText)).map((rule) => rule.cssText).join("\n");
}

// A page's component: the address keeps the choice under the component's key, and a newer message keeps the reader's choice.
export class PageView {
  constructor(parent, tells = false) {
    this.parent = parent;
    this.tells = tells; // the app hears of each choice
    this.view = null;
    this.closed = false;
  }
  async show(message) {
    if (this.message && same(this.message, message)) return;
    const { key, parts } = unpack(message).head;
    this.message = message;
    const before = this.view;
    const view = await mount(this.parent, message, {
      before,
      choice: before ? "" : (new URLSearchParams(location.search).get(key) ?? ""),
      onChoice: (text) => {
        keepInAddress({ [key]: text });
        if (this.tells) this.component.setTriggerValue("kept", text);
      },
      onErase: (tokens) => this.component.setTriggerValue("erased", tokens),
      fetchPart: async (i) => {
        const answer = await fetch(window.observatoryAddress(`${parts}/${i}`));
        return answer.ok ? new Uint8Array(await answer.arrayBuffer()) : null;
      },
      addresses: PARTS,
      style: ownStyle,
    });
    if (this.closed || this.message !== message) return view.close();
    before?.close();
    this.view = view;
  }
  close() {
    this.closed = true;
    this.view?.close();
  }
}

function same(one, other) {
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  return true;
}
