// Changes of the machine, in the words of `linkcast help edits`.
import { button, fill, h, part } from "./dom";
import { cable_text } from "./drawing";
import { Machine } from "./types";

export interface Actions { add(edit: string): void; undo(index: number): void; join(from: string): void; toggle(gpu: string): void }

/** Buttons for the cable or device that was picked. */
export function show_selection(machine: Machine, base: Machine, id: string, joining: string, member: boolean, actions: Actions): void {
  const holder = part("selection");
  const cable = machine.cables.find((c) => c.id === id), gone = !cable && base.cables.find((c) => c.id === id);
  const device = machine.devices.find((d) => d.id === id);
  if (joining) {
    holder.replaceChildren(h("p", {}, `Pick the device that ${joining} is joined with, or `, button("cancel", () => actions.join(""))));
  } else if (cable) {
    const rate = (factor: number) => () => actions.add(`scale ${id}:${factor}`);
    holder.replaceChildren(h("p", {}, cable_text(cable)), h("div", { class: "tools" },
      cable.count > 1 && button("remove one link", () => actions.add(`remove ${id}:1`)), button("remove", () => actions.add(`remove ${id}`)),
      button("half the rate", rate(0.5)), button("twice the rate", rate(2)), button("one link more", () => actions.add(`add ${id}:${cable.kind}:1`)),
      button(`no ${cable.kind} at all`, () => actions.add(`disable ${cable.kind}`))));
  } else if (gone) {
    holder.replaceChildren(h("p", {}, `${id} is removed`));
  } else if (device) {
    const cables = machine.cables.filter((c) => c.a === id || c.b === id);
    holder.replaceChildren(h("p", {}, `${device.id}: ${device.model}, ${cables.length} cables`), h("div", { class: "tools" },
      device.kind === "gpu" && button(member ? "leave it out" : "let it take part", () => actions.toggle(id)),
      button("1.2 times slower", () => actions.add(`slow ${id}:1.2`)), button("twice as slow", () => actions.add(`slow ${id}:2`)),
      device.kind === "nic" && cables.length > 0 && button("unplug", () => actions.add(`remove ${cables[0].id}`)), button("join with ...", () => actions.join(id))));
  } else {
    holder.replaceChildren(h("p", { class: "quiet" }, "Pick a cable or device to remove, slow, double or join it."));
  }
}

const EXAMPLES = ["disable nvlink", "disable p2p", "nics 4", "oversubscription 2", "network efa", "swap nvlink3:nvlink4", "set kind=nvlink4:bandwidth=50GB/s", "flaky gpu0-gpu1:0.05"];

/** A field for what no button does. */
export function edit_form(actions: Actions): void {
  const holder = part("any-edit");
  const field = h("input", { name: "edit", list: "edit-examples", autocomplete: "off", spellcheck: "false", placeholder: "nics 4" });
  holder.replaceChildren(h("label", {}, "any edit", field), h("datalist", { id: "edit-examples" }, ...EXAMPLES.map((value) => h("option", { value }))), h("button", { type: "submit" }, "add"));
  holder.addEventListener("submit", (submitted) => {
    submitted.preventDefault();
    const edit = field.value.trim();
    if (!edit) return;
    field.value = "";
    actions.add(edit);
  });
}

export function show_edits(edits: string[], actions: Actions): void {
  fill("edits", ...edits.map((edit, i) => h("li", {}, edit, button("×", () => actions.undo(i), { "aria-label": `undo ${edit}` }))));
}

/** Kind of the cable that joins the like of these two; else PCIe to hosts, NVLink between GPUs. */
export function kind_between(machine: Machine, a: string, b: string): string {
  const kind_of = (id: string): string => machine.devices.find((d) => d.id === id)?.kind ?? "";
  const like = machine.cables.find((c) => [[c.a, c.b], [c.b, c.a]].some(([x, y]) => kind_of(x) === kind_of(a) && kind_of(y) === kind_of(b)));
  const host = [a, b].some((id) => ["cpu", "nic", "pcie_switch"].includes(kind_of(id)));
  return like?.kind ?? machine.cables.find((c) => c.kind.startsWith(host ? "pcie" : "nvlink"))?.kind ?? machine.cables[0].kind;
}
