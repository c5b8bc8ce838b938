// Answers of linkcast, as docs/reference.md says.
export interface Device { id: string; kind: string; model: string }
export interface Cable { id: string; a: string; b: string; kind: string; count: number; bandwidth_Bps: number }
export interface Machine { name: string; title: string; gpus: number; default_library: string; devices: Device[]; cables: Cable[] }
export interface Term { label: string; time_s: number; time_share: number; uncertainty_share: number; source: string }
/** What the question puts on a link: share of the time in which it is busy. */
export interface LinkLoad { id: string; carried_B: number; utilisation: number }
export interface Measured { transport: string; variant: string; size_B: number; measured_s: number; finding: string }
export interface DiagnosedFile {
  verdict: string; points: number; slow: number; fast: number; why?: string; next?: string; causes?: { kind: string; probability: number }[]; table: Measured[];
}
/** Of a log; files where it is of one machine. */
export interface Diagnosis { text: string; files?: DiagnosedFile[] }
export interface Answer {
  time_s: number; time_low_s: number; time_high_s: number; algbw_Bps: number; busbw_Bps: number;
  library: string; algorithm: string; protocol: string; ranks: number; channels: number[][];
  links?: LinkLoad[]; bottleneck: string[]; warnings: string[]; terms?: Term[]; hint?: string; slowdown?: number;
}
/** A second collective, at the same time. */
export interface Concurrent { op: string; size: string; gpus: string }
/** All that the page asks; its address holds it. */
export interface Question {
  platform: string; op: string; size: string; gpus: string; nodes: number; library: string; edits: string[]; concurrent: Concurrent | null;
}
