import type { SecretPattern } from "./secret-rules.ts";

/**
 * Where the runs of patterns end in one text. What was walked for one secret is not walked again for another that begins
 * in the same run, so that a text full of beginnings costs no more than its length.
 */
export class SecretRuns {
  readonly #text: string;
  /** By pattern: all of `from` .. `to` is one run; of a pattern with an `end`, `to` is where the next one begins. */
  readonly #known = new Map<SecretPattern, { readonly from: number; to: number }>();

  constructor(text: string) {
    this.#text = text;
  }

  /** Where the run that begins at `start` ends, `max` units behind it at most; with an `end`, behind that. */
  end(start: number, pattern: SecretPattern): number {
    const last = Math.min(this.#text.length, start + pattern.max);
    const known = this.#known.get(pattern);
    const isInside = known !== undefined && known.from <= start && start <= known.to;
    if (pattern.end !== null) {
      const to = isInside ? known.to : this.#next(pattern.end, start);
      if (!isInside) this.#known.set(pattern, { from: start, to });
      return Math.min(to + pattern.end.length, last);
    }
    let to = isInside ? known.to : start;
    for (; to < last; to++) {
      const code = this.#text.charCodeAt(to);
      if (code >= 128 || pattern.allowed[code] === 0) break;
    }
    if (!isInside) this.#known.set(pattern, { from: start, to });
    else known.to = to;
    return Math.min(to, last);
  }

  #next(end: string, start: number): number {
    const at = this.#text.indexOf(end, start);
    return at < 0 ? Infinity : at;
  }
}
