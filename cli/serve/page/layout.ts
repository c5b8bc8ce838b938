// Where devices stand: hosts above, GPUs in rows, what switches NVLinks below; other nodes as tiles, and what joins them.
import { Cable, Device, Machine } from "./types";

export interface Place { id: string; kind: string; label: string; title: string; x: number; y: number; w: number; h: number }
export interface Layout { places: Map<string, Place>; cables: { cable: Cable; path: string }[]; width: number; height: number; hidden: string }

const GPU = { w: 54, h: 30 }, GAP_X = 14, GPU_ROW = GPU.h + 10, ROW = 66, MARGIN = 24;
const HOSTS_SHOWN_TO = 52, TILES_SHOWN = 64;
const ABOVE: Record<string, number> = { cpu: 0, pcie_switch: 1, nic: 2 };

const NAMES: Record<string, string> = { cpu: "CPUs", pcie_switch: "PCIe switches", nic: "adapters" };

const text_width = (label: string): number => Math.max(GPU.w, 7 * label.length + 12);

/** Keeps the order of what is wished for, and the gap. */
function spread(wished: { id: string; at: number; w: number }[], width: number): Map<string, number> {
  const row = [...wished].sort((a, b) => a.at - b.at || a.id.localeCompare(b.id, "en", { numeric: true }));
  const found = new Map<string, number>();
  let left = MARGIN;
  for (const one of row) {
    const at = Math.max(left + one.w / 2, one.at);
    found.set(one.id, at);
    left = at + one.w / 2 + GAP_X;
  }
  // The row goes back by the mean of how far it was pushed to the right, and into the picture.
  const pushed = row.reduce((sum, one) => sum + found.get(one.id)! - one.at, 0) / Math.max(row.length, 1);
  let limit = width - MARGIN;
  for (const one of [...row].reverse()) {
    const at = Math.min(found.get(one.id)! - pushed, limit - one.w / 2);
    found.set(one.id, at);
    limit = at - one.w / 2 - GAP_X;
  }
  return found;
}

/** @param most_in_a_row  GPUs: fewer on narrow screens */
export function layout_of(machine: Machine, nodes: number, most_in_a_row: number): Layout {
  const many = machine.devices.length > HOSTS_SHOWN_TO;
  const gpus = machine.devices.filter((d) => d.kind === "gpu");
  const switches = machine.devices.filter((d) => !(d.kind in ABOVE) && d.kind !== "gpu");
  const hosts = machine.devices.filter((d) => d.kind in ABOVE);
  const shown = many ? [] : hosts;
  const columns = Math.min(gpus.length, most_in_a_row);
  const levels = [0, 1, 2].map((level) => shown.filter((d) => ABOVE[d.kind] === level));
  const need = (row: Device[]): number => row.reduce((sum, d) => sum + text_width(d.id) + GAP_X, 2 * MARGIN);
  const width = Math.max(columns * (GPU.w + GAP_X) + 2 * MARGIN + GPU.w, need(switches), ...levels.map(need), 340);
  const places = new Map<string, Place>();
  const put = (d: Device, x: number, y: number): void => {
    places.set(d.id, { id: d.id, kind: d.kind, label: d.id, title: `${d.id}: ${d.model}`, x, y, w: text_width(d.id), h: GPU.h });
  };
  const upper = levels.filter((row) => row.length > 0);
  const gpu_y = MARGIN + GPU.h / 2 + upper.length * ROW;
  gpus.forEach((d, i) => {
    const row = Math.floor(i / most_in_a_row), in_row = Math.min(columns, gpus.length - row * most_in_a_row);
    put(d, ((i % most_in_a_row) + 0.5) * ((width - 2 * MARGIN) / in_row) + MARGIN, gpu_y + row * GPU_ROW);
  });
  const joined_with = (id: string): string[] => machine.cables.flatMap((c) => (c.a === id ? [c.b] : c.b === id ? [c.a] : []));
  const neighbours = (id: string): Place[] => joined_with(id).flatMap((other) => places.get(other) ?? []);
  /** GPUs at the switch or CPU of an adapter: it stands behind the last, out of the way of their cables. */
  const behind_gpus = (nic: string): number | null => {
    if (neighbours(nic).length) return null;  // at a GPU itself, as on LUMI
    const near = joined_with(nic).flatMap(neighbours).filter((p) => p.kind === "gpu");
    return near.length ? Math.max(...near.map((p) => p.x)) + (width - 2 * MARGIN) / columns / 2 : null;
  };
  const stand = (row: Device[], y: number): void => {
    const wished = row.map((d, i) => {
      const gap = d.kind === "nic" ? behind_gpus(d.id) : null;
      if (gap !== null) return { id: d.id, at: gap, w: text_width(d.id) };
      const near = neighbours(d.id);
      const at = near.length ? near.reduce((sum, p) => sum + p.x, 0) / near.length : ((i + 0.5) * width) / row.length;
      return { id: d.id, at, w: text_width(d.id) };
    });
    const at = spread(wished, width);
    for (const d of row) put(d, at.get(d.id)!, y);
  };
  [...upper].reverse().forEach((row, i) => stand(row, gpu_y - (i + 1) * ROW));
  const rows = Math.ceil(gpus.length / most_in_a_row);
  let bottom = gpu_y + (rows - 1) * GPU_ROW + GPU.h / 2;
  const arcs = machine.cables.filter((c) => places.get(c.a)?.kind === "gpu" && places.get(c.b)?.kind === "gpu");
  if (arcs.length) bottom += Math.min(150, 26 + 0.16 * width);
  if (switches.length === 1 && rows > 1) {
    put(switches[0], width / 2, bottom + ROW / 2);
    places.get(switches[0].id)!.w = width - 2 * MARGIN;
    bottom += ROW / 2 + GPU.h / 2;
  } else if (switches.length) {
    stand(switches, bottom + ROW);
    const joined = machine.cables.some((c) => switches.some((d) => d.id === c.a) && switches.some((d) => d.id === c.b));
    bottom += ROW + GPU.h / 2 + (joined ? 50 : 0);
  }
  if (nodes > 1) bottom = tiles(places, nodes, width, bottom + 24, machine);
  const between = (left: Place, right: Place): boolean => [...places.values()].some((p) => p.y === left.y && p.x > left.x && p.x < right.x);
  const cables = machine.cables.filter((c) => places.has(c.a) && places.has(c.b)).map((cable) => ({ cable, path: path_of(places.get(cable.a)!, places.get(cable.b)!, between) }));
  const count = (kind: string): number => hosts.filter((d) => d.kind === kind).length;
  const hidden = many ? Object.keys(ABOVE).filter(count).map((kind) => `${count(kind)} ${NAMES[kind]}`).join(", ") : "";
  return { places, cables, width, height: bottom + MARGIN, hidden };
}

/** Between GPUs of a row below them, as deep as they are far apart; else straight from edge to edge. */
function path_of(a: Place, b: Place, between: (left: Place, right: Place) => boolean): string {
  if (a.y === b.y && a.kind === "gpu") {
    const y = a.y + a.h / 2, deep = y + Math.min(190, 30 + 0.24 * Math.abs(a.x - b.x));
    return `M${a.x},${y} C${a.x},${deep} ${b.x},${deep} ${b.x},${y}`;
  }
  if (a.y === b.y) {
    const [left, right] = a.x < b.x ? [a, b] : [b, a], free = right.x - left.x < 1.6 * (left.w + GAP_X) || !between(left, right);
    if (!free) {
      const y = a.y + a.h / 2, deep = y + Math.min(60, 14 + 0.08 * (right.x - left.x));
      return `M${left.x},${y} C${left.x},${deep} ${right.x},${deep} ${right.x},${y}`;
    }
    return `M${left.x + left.w / 2},${left.y} L${right.x - right.w / 2},${right.y}`;
  }
  const [upper, lower] = a.y < b.y ? [a, b] : [b, a];
  if (lower.x - lower.w / 2 < upper.x && upper.x < lower.x + lower.w / 2 && lower.w > 2 * upper.w) {  // onto a bar, past other rows
    const x = upper.x + upper.w / 2 - 3;
    return `M${x},${upper.y + upper.h / 2} l5,5 V${lower.y - lower.h / 2}`;
  }
  return `M${upper.x},${upper.y + upper.h / 2} L${lower.x},${lower.y - lower.h / 2}`;
}

function tiles(places: Map<string, Place>, nodes: number, width: number, top: number, machine: Machine): number {
  places.set("fabric", { id: "fabric", kind: "fabric", label: `${nodes} nodes; the one above is node0`, title: `what joins ${nodes} nodes of ${machine.name}`, x: width / 2, y: top + 14, w: width - 2 * MARGIN, h: 28 });
  const shown = Math.min(nodes - 1, TILES_SHOWN), w = 30, each = w + 6, in_row = Math.floor((width - 2 * MARGIN) / each);
  for (let i = 0; i < shown; i += 1) {
    const last = i === shown - 1 && nodes - 1 > TILES_SHOWN;
    const id = `node${i + 1}`;
    places.set(id, { id, kind: "node", label: last ? "..." : String(i + 1), title: last ? `and ${nodes - shown} more` : id,
      x: MARGIN + w / 2 + (i % in_row) * each, y: top + 48 + Math.floor(i / in_row) * 26, w, h: 20 });
  }
  return top + 48 + Math.ceil(shown / in_row) * 26;
}
