/** Sends triggers from this process, at a steady rate or in bursts. */
import { setTimeout as sleep } from 'node:timers/promises';

/** What a service has processed after half a minute; until then much of the code is interpreted. */
export const warmUpMessages = 5_000;
const atOnce = 50;

/** Triggers at a steady rate without waiting for responses, then waits for all of them. */
export async function steady(trigger: () => Promise<number>, perSecond: number, seconds: number): Promise<number[]> {
  const times: Promise<number>[] = [];
  const began = performance.now();
  for (let i = 0; i < seconds * perSecond; i++) {
    const wait = began + (i * 1_000) / perSecond - performance.now();
    if (wait > 0) await sleep(wait);
    times.push(trigger());
  }
  return Promise.all(times);
}

export async function inBursts(trigger: () => Promise<number>, messages: number): Promise<void> {
  for (let sent = 0; sent < messages; sent += atOnce) await Promise.all(Array.from({ length: atOnce }, trigger));
}
