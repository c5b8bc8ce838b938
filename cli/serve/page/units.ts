const UNITS: Record<string, number> = { B: 1, kB: 1e3, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
const OF_NCCL_TESTS: Record<string, number> = { K: 2 ** 10, k: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };

/** Bytes of "64MiB", "64M" (as nccl-tests has it), "4096", as --size reads them. @throws Error  nothing that is a size */
export function bytes_of(text: string): number {
  const found = /^(\d+(?:\.\d+)?) ?([A-Za-z]*)$/.exec(text.trim());
  const unit = found?.[2] ? UNITS[found[2]] ?? OF_NCCL_TESTS[found[2]] : found?.[1].includes(".") ? undefined : 1;
  if (!found || unit === undefined) throw new Error(`size: '${text}' is no size: 64MiB, 1GB, 4096`);
  const bytes = Number(found[1]) * unit;
  if (!Number.isInteger(bytes) || bytes < 1 || bytes > 2 ** 53) throw new Error(`size: '${text}' is no whole number of bytes from 1 to 2^53`);
  return bytes;
}

function scaled(value: number, step: number, units: string[]): string {
  let at = 0;
  while (at + 1 < units.length && Math.abs(value) >= step ** (at + 1) * 0.9995) at += 1;
  return `${Number((value / step ** at).toPrecision(4))} ${units[at]}`;
}

export const time_text = (seconds: number): string =>
  seconds >= 0.9995 ? `${Number(seconds.toPrecision(4))} s` : scaled(seconds * 1e9, 1000, ["ns", "us", "ms"]);
export const rate_text = (bytes_per_s: number): string => scaled(bytes_per_s, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]);
export const size_text = (bytes: number): string => scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
export const percent = (share: number): string => `${Math.round(100 * share)} %`;
/** 1.66 of after and before. */
export const times_text = (factor: number): string => `${Number(factor.toPrecision(3))} times`;
