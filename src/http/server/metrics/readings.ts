/** Metrics whose values are read when they are scraped. */
import { Counter, Gauge, type Registry } from 'prom-client';

type Labels = Record<string, string>;
/** One value, or one for each combination of labels; undefined if there is none. */
type Reading = number | undefined | (readonly [labels: Labels, value: number | undefined])[];
type Read = () => Reading | Promise<Reading>;

export function readings(registry: Registry) {
  const registers = [registry];
  return {
    gauge: (name: string, help: string, labelNames: string[], read: Read) =>
      new Gauge({
        name,
        help,
        labelNames,
        registers,
        async collect() {
          const reading = await read();
          this.reset();
          // Without a value, a gauge without labels would export 0.
          if (reading === undefined) this.remove({});
          for (const [labels, value] of entriesOf(reading)) this.set(labels, value);
        },
      }),
    counter: (name: string, help: string, labelNames: string[], read: Read) =>
      new Counter({
        name,
        help,
        labelNames,
        registers,
        async collect() {
          const reading = await read();
          this.reset();
          for (const [labels, value] of entriesOf(reading)) this.inc(labels, value);
        },
      }),
  };
}

function entriesOf(reading: Reading): (readonly [Labels, number])[] {
  const all = Array.isArray(reading) ? reading : [[{}, reading] as const];
  return all.flatMap(([labels, value]) => (value === undefined ? [] : [[labels, value] as const]));
}
