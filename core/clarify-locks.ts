import type { JsonObject } from "./frames.ts";

/**
 * The questions that are asked together in one `clarify`, and what was answered so far. An answer can be changed until
 * each question has one.
 */
export class ClarifyLocks {
  /** Ids of the questions, in the order in which they are asked. */
  readonly #questions: readonly string[];
  readonly #answers = new Map<string, string>();

  constructor(questions: readonly string[]) {
    this.#questions = questions;
  }

  /** Ids of the questions that nobody has answered. */
  get remaining(): readonly string[] {
    return this.#questions.filter((id) => !this.#answers.has(id));
  }

  /** What was answered so far, by id, in the order of the questions. */
  get answers(): JsonObject {
    const answered = this.#questions.filter((id) => this.#answers.has(id));
    return Object.fromEntries(answered.map((id) => [id, this.#answers.get(id)]));
  }

  /** False when it asks no such question. */
  lock(questionId: string, answer: string): boolean {
    if (!this.#questions.includes(questionId)) return false;
    this.#answers.set(questionId, answer);
    return true;
  }

  /** The answers that a whole one leaves: its own over those before. Without any it takes back what was answered. */
  over(whole: JsonObject | undefined): JsonObject {
    return whole === undefined ? {} : { ...this.answers, ...whole };
  }
}
