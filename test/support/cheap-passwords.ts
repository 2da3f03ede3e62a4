/** Makes password hashes cheap in tests, except where `useProductionCosts` is called. */
import { onTestFinished } from 'vitest';
import { costs, productionCosts } from '../../src/lib/secrets/passwords.ts';

const cheap = { memory: 8, passes: 1 };

Object.assign(costs, cheap);

/** Hashes passwords as in production until the test ends. */
export function useProductionCosts(): void {
  Object.assign(costs, productionCosts);
  onTestFinished(() => void Object.assign(costs, cheap));
}
