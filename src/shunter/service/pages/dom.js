// Making elements. What comes from outside is only ever text: nothing here takes HTML.

/** Returns an element with properties and children; a string among the children is text. */
export function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** The same for drawings. */
export function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

/** Tells those who cannot see the page. */
export function say(words) {
  document.getElementById("said").textContent = words;
}

let numbers = 0;
/** Returns an id that nothing else on the page has. */
export function freshId(prefix) {
  numbers += 1;
  return `${prefix}-${numbers}`;
}

/** Calls a function when nobody has called for so long. */
export function settled(act, milliseconds) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...given), milliseconds);
  };
}
