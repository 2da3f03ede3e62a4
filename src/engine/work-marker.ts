/**
 * What the engine is working on at this very moment, in memory that outlives its thread: when processing one occurrence
 * or delivery ends or stalls the thread, the supervisor reads here which one it was. Set before each stretch of work on
 * what a tenant wrote; such a stretch never awaits anything.
 */
const longestText = 128;

export interface Marked {
  organizationId: number;
  occurrenceId: string;
  /** Undefined: the occurrence itself was being expanded. */
  deliveryId: number | undefined;
}

export class WorkMarker {
  /** To be handed to the other thread. */
  readonly memory: SharedArrayBuffer;
  readonly #numbers: Int32Array;
  readonly #text: Uint8Array;
  readonly #encoder = new TextEncoder();

  constructor(memory = new SharedArrayBuffer(8 + longestText)) {
    this.memory = memory;
    this.#numbers = new Int32Array(memory, 0, 2);
    this.#text = new Uint8Array(memory, 8);
  }

  set(organizationId: number, occurrenceId: string, deliveryId?: number): void {
    const text = `${organizationId}/${occurrenceId}/${deliveryId ?? ''}`;
    this.#numbers[0] = this.#encoder.encodeInto(text, this.#text).written;
  }

  clear(): void {
    this.#numbers[0] = 0;
  }

  read(): Marked | undefined {
    const length = this.#numbers[0]!;
    if (length === 0) return undefined;
    const [organization, occurrenceId = '', delivery] = Buffer.from(this.#text.slice(0, length)).toString().split('/');
    return { organizationId: Number(organization), occurrenceId, deliveryId: delivery ? Number(delivery) : undefined };
  }

  /** That the thread's event loop turns. */
  beat(): void {
    Atomics.add(this.#numbers, 1, 1);
  }

  get beats(): number {
    return Atomics.load(this.#numbers, 1);
  }
}
