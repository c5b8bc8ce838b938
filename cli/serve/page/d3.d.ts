// The part of D3 that this page uses; Debian's node-d3 has no types.
declare module "d3-scale" {
  interface Log {
    (value: number): number;
    domain(ends: [number, number]): Log;
    range(ends: [number, number]): Log;
    base(of: number): Log;
    ticks(count: number): number[];
  }
  export function scaleLog(): Log;
}
declare module "d3-shape" {
  interface Path<T> {
    (points: T[]): string | null;
    x(at: (point: T) => number): Path<T>;
    y(at: (point: T) => number): Path<T>;
    y0(at: (point: T) => number): Path<T>;
    y1(at: (point: T) => number): Path<T>;
  }
  export function line<T>(): Path<T>;
  export function area<T>(): Path<T>;
}
declare module "d3-selection" {
  interface Drawn {
    selectAll(what: string): Drawn;
    append(tag: string): Drawn;
    attr(name: string, value: string | number | null): Drawn;
    text(value: string): Drawn;
    remove(): Drawn;
    node(): Element;
  }
  export function select(what: Element): Drawn;
}
declare module "d3-scale-chromatic" {
  export const schemeTableau10: string[];
}
