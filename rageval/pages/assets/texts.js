// How texts are shown: they were written by others, and enter a page as text only.

// What a terminal obeys, and what reorders text, hides it or hides in it: the list of rageval/text.py.
const HIDDEN =
  /[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

// The text with everything of that written out, as the command line prints it.
function visible(text) {
  return String(text).replace(HIDDEN, (character) => {
    const code = character.codePointAt(0);
    const [mark, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return "\\" + mark + code.toString(16).padStart(digits, "0");
  });
}

// The pieces of a name between which a line may end; within them none does.
function breakable(text) {
  return visible(text).split(/(?<=[_.(,=/|-])(?=.)|(?<=.)(?=@)/).flatMap((piece, at) => (at ? [make("wbr"), piece] : [piece]));
}

// Several lines of such text; how they are broken is left to the style.
function lines(text) {
  return String(text).split("\n").map(visible).join("\n");
}

// What stands under this key, and not what every object has (an id may be "constructor").
function own(object, key) {
  return object && Object.hasOwn(object, key) ? object[key] : undefined;
}

function byId(id) {
  return document.getElementById(id);
}

// An element with attributes and children; strings among them become text.
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}
