export type Child = Node | string | number | null | undefined | false;

const present = (children: Child[]): (Node | string)[] => children.filter((child) => child || child === 0).map((child) => (child instanceof Node ? child : String(child)));

/** An element with attributes, listeners (onclick: ...) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Record<string, unknown> = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) made.setAttribute(name, String(value));
  }
  made.append(...present(children));
  return made;
}

export const button = (text: string, click: () => void, attributes: Record<string, unknown> = {}): HTMLElement => h("button", { type: "button", onclick: click, ...attributes }, text);

export const drawing = (): SVGSVGElement => document.querySelector<SVGSVGElement>("#drawing")!;

export const part = (id: string): HTMLElement => document.getElementById(id)!;

export const fill = (id: string, ...children: Child[]): void => part(id).replaceChildren(...present(children));
