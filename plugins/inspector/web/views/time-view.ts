import { useMemo, useState } from "preact/hooks";
import { pageClock } from "../clock.ts";
import { wholeSpan, zoomed, type Span } from "../timeline-layout.ts";
import type { Timeline } from "../timeline-model.ts";

/** Which part of time is seen, and what changes it. */
export interface TimeView {
  /** It stands still; else it runs with the time. */
  readonly isHeld: boolean;
  /** How much is seen while it runs. */
  readonly lengthMs: number;
  /** As it is at this moment. */
  span(): Span;
  readonly toggle: () => void;
  /** Runs with the time, so much of it. */
  readonly follow: (lengthMs: number) => void;
  readonly zoom: (factor: number) => void;
  readonly showAll: () => void;
  readonly onKey: (event: KeyboardEvent) => void;
}

/** The last two minutes, running, until somebody wants to see something else. */
export function useView(timeline: Timeline): TimeView {
  const [lengthMs, setLength] = useState(120_000);
  const [held, setHeld] = useState<Span | null>(null);
  return useMemo(() => {
    const span = (): Span => held ?? { from: pageClock.now() - lengthMs, to: pageClock.now() };
    const toggle = (): void => setHeld(held === null ? span() : null);
    const zoom = (factor: number): void => {
      const { from, to } = zoomed(span(), factor);
      if (held === null) setLength(to - from);
      else setHeld(zoomed(held, factor, (held.from + held.to) / 2));
    };
    const pan = (share: number): void => {
      const { from, to } = span();
      setHeld({ from: from + (to - from) * share, to: to + (to - from) * share });
    };
    const keys: Readonly<Record<string, () => void>> = {
      "+": () => zoom(0.5),
      "=": () => zoom(0.5),
      "-": () => zoom(2),
      ArrowLeft: () => pan(-0.2),
      ArrowRight: () => pan(0.2),
      " ": toggle,
      End: () => setHeld(null),
    };
    return {
      ...{ isHeld: held !== null, lengthMs, span, toggle, zoom },
      follow: (ms) => {
        setHeld(null);
        setLength(ms);
      },
      showAll: () => setHeld(wholeSpan(timeline, pageClock.now())),
      onKey: (event) => {
        const run = keys[event.key];
        if (run === undefined) return;
        event.preventDefault();
        run();
      },
    };
  }, [timeline, lengthMs, held]);
}
