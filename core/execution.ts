import type { ActivityKind } from "./activity.ts";
import { DeltaStream } from "./delta-stream.ts";
import { Echo } from "./echo.ts";
import { limits } from "./options.ts";
import type { Redactor } from "./redact.ts";
import type { Session } from "./sessions.ts";
import { turnMark, type TurnMark, type TurnSource } from "./turn-source.ts";

/** A tool call that started and has not ended. */
export interface OpenTool {
  readonly tool_id: string;
  readonly name: string;
  /** Monotonic ms. */
  readonly startedAt: number;
}

/**
 * One execution of a turn, bound to its session when it starts (I2). Everything its frames need is fixed here; nothing
 * is looked up when a frame comes. Whoever holds it may write for it, until it is sealed; nobody else can.
 */
export class Execution {
  readonly session: Session;
  /** Who claimed the turn, as its frames say it. */
  readonly mark: TurnMark;
  readonly message: DeltaStream;
  readonly reasoning: DeltaStream;
  /** Set once, before the end is written: what comes later is late. */
  sealed = false;
  /** Set once everything was told; a consumer needs nothing more of it. */
  settled = false;
  /** Told when a call opens or ends. Must be quick, and write no frame. */
  onTools: (() => void) | null = null;
  readonly #openTools = new Map<string, OpenTool>();
  readonly #endedTools = new Set<string>();
  readonly #echo = new Echo();

  constructor(session: Session, turn: { readonly id: string; readonly source: TurnSource }, redactor: Redactor) {
    this.session = session;
    this.mark = turnMark(turn.id, turn.source);
    this.message = new DeltaStream(redactor);
    this.reasoning = new DeltaStream(redactor);
  }

  /** Of the turn that is executed. */
  get turnId(): string {
    return this.mark.turn.id;
  }

  /** Who claimed the turn, as rows and posts name it; null when nobody is named. */
  get origin(): string | null {
    return this.mark.origin ?? null;
  }

  /** Released text of a kind of delta. */
  stream(kind: ActivityKind): DeltaStream | null {
    if (kind === "message.delta") return this.message;
    return kind === "reasoning.delta" ? this.reasoning : null;
  }

  /** In order of their starts. */
  get openTools(): Iterable<OpenTool> {
    return this.#openTools.values();
  }

  tool(toolId: string): "open" | "ended" | "unknown" {
    if (this.#openTools.has(toolId)) return "open";
    return this.#endedTools.has(toolId) ? "ended" : "unknown";
  }

  /** False at the bound of 1,024 open calls. */
  openTool(tool: OpenTool): boolean {
    if (this.#openTools.size >= limits.maxOpenTools) return false;
    this.#openTools.set(tool.tool_id, tool);
    this.onTools?.();
    return true;
  }

  /** The call, taken from the open ones; undefined if it is not among them. */
  endTool(toolId: string): OpenTool | undefined {
    const tool = this.#openTools.get(toolId);
    if (tool === undefined) return undefined;
    this.#openTools.delete(toolId);
    this.#endedTools.add(toolId);
    // Ids of ended calls are kept so that a second end is refused; the oldest are forgotten.
    if (this.#endedTools.size > limits.maxEndedTools) {
      const [oldest] = this.#endedTools;
      if (oldest !== undefined) this.#endedTools.delete(oldest);
    }
    this.onTools?.();
    return tool;
  }

  /** Seals it, so that whatever comes is late. What only frames to come would need is let go of. */
  seal(): void {
    this.sealed = true;
    this.message.close();
    this.reasoning.close();
    this.#echo.forget();
    this.#openTools.clear();
    this.#endedTools.clear();
  }

  /** Units of streamed text that are kept, so that a consumer can be made whole. */
  get keptUnits(): number {
    return this.message.keptUnits + this.reasoning.keptUnits;
  }

  /** Lets go of the streamed text: a gap in it stays open from now on. */
  forgetText(): void {
    this.message.forget();
    this.reasoning.forget();
  }

  /** Whether a text repeats the reasoning, as far as that is kept. */
  repeatsReasoning(text: string): boolean {
    // Once it is over nothing more is compared than its own error: no index is kept for that.
    const echo = this.sealed ? new Echo() : this.#echo;
    return echo.repeats(text, this.reasoning.text);
  }
}
