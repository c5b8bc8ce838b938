import { button, drawing, fill, h, part } from "./dom";
import { Answer, Question } from "./types";
import { command_of } from "./question";

function save(name: string, content: Blob): void {
  const link = h("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Says in the footer that it did; pages of another host's name have no clipboard. */
async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    fill("copied", `${what} copied`);
  } catch {
    fill("copied", `the browser allows no copy: ${text}`);
  }
}

/** The drawing by itself, colours included. */
function svg_text(): { text: string; width: number; height: number } {
  const drawn = drawing(), copy = drawn.cloneNode(true) as SVGSVGElement;
  const sources = drawn.querySelectorAll("*"), targets = copy.querySelectorAll<SVGElement>("*");
  sources.forEach((source, i) => {
    const style = getComputedStyle(source);
    for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family", "text-anchor", "dominant-baseline"])
      targets[i].style.setProperty(name, style.getPropertyValue(name));
  });
  const { width, height } = drawn.viewBox.baseVal;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  copy.style.background = getComputedStyle(part("machine")).backgroundColor;
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

async function png(): Promise<Blob> {
  const { text, width, height } = svg_text(), image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = h("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d")!.drawImage(image, 0, 0, 2 * width, 2 * height);
  return new Promise((done) => canvas.toBlob((blob) => done(blob!), "image/png"));
}

export function show_exports(question: Question, gpus: number, answer: Answer): void {
  const name = `${question.platform}-${question.op}`, command = command_of(question, gpus);
  fill("share",
    button("copy link", () => void copy(location.href, "link")),
    button("SVG", () => save(`${name}.svg`, new Blob([svg_text().text], { type: "image/svg+xml" }))),
    button("PNG", () => void png().then((blob) => save(`${name}.png`, blob))),
    button("JSON", () => save(`${name}.json`, new Blob([JSON.stringify(answer, null, 1)], { type: "application/json" }))),
    button("copy command", () => void copy(command, "command")), h("code", { id: "command" }, command), h("span", { id: "copied", role: "status" }));
}
