/** Something that happens once, and a promise of it. */
export class Signal {
  readonly fired: Promise<void>;
  /** Safe to call twice. */
  readonly fire: () => void;

  constructor() {
    let fire = (): void => undefined;
    this.fired = new Promise((resolve) => {
      fire = resolve;
    });
    this.fire = fire;
  }
}
