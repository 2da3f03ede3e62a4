/**
 * Argon2id with the parameters that OWASP recommends, stored as PHC strings so that they can rise. Each hash takes
 * 19 MiB: only a few are made at once and the rest wait, so that a flood of them cannot take all memory.
 */
import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

export const costs = { memory: 19_456, passes: 2, parallelism: 1 } as const;
const tagLength = 32;
const saltLength = 16;
const atOnce = 2;

const derive = promisify(argon2);

export class TooManyPasswords extends Error {}

export class Passwords {
  readonly #longestQueue: number;
  readonly #waiting: (() => void)[] = [];
  #busy = 0;
  #nobody: Promise<string> | undefined;

  constructor(longestQueue = 100) {
    this.#longestQueue = longestQueue;
  }

  async hash(password: string): Promise<string> {
    const salt = randomBytes(saltLength);
    const tag = await this.#derive({ message: password, nonce: salt, tagLength, ...costs });
    const { memory, passes, parallelism } = costs;
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(salt)}$${encode(tag)}`;
  }

  /** Takes the same time when there is no hash to compare with. */
  async verify(password: string, stored: string | null | undefined): Promise<boolean> {
    this.#nobody ??= this.hash(randomBytes(16).toString('hex'));
    const { salt, tag, ...parameters } = parse(stored ?? (await this.#nobody));
    const made = await this.#derive({ message: password, nonce: salt, tagLength: tag.length, ...parameters });
    return timingSafeEqual(made, tag) && typeof stored === 'string';
  }

  /** Whether it was made with other parameters than today's. */
  isOutdated(stored: string): boolean {
    const { memory, passes, parallelism } = parse(stored);
    return memory !== costs.memory || passes !== costs.passes || parallelism !== costs.parallelism;
  }

  async #derive(parameters: Argon2Parameters): Promise<Buffer> {
    if (this.#busy >= atOnce) {
      if (this.#waiting.length >= this.#longestQueue) throw new TooManyPasswords('too many passwords at once');
      await new Promise<void>(resolve => this.#waiting.push(resolve));
    } else {
      this.#busy++;
    }
    try {
      return await derive('argon2id', parameters);
    } finally {
      // The place goes to the next in line, or is free again.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#busy--;
    }
  }
}

const form = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

function parse(stored: string) {
  const [, memory, passes, parallelism, salt, tag] = form.exec(stored) ?? [];
  if (!salt || !tag) throw new Error('a stored password hash is not one of Argon2id');
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  };
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}
