/** Updates the table of costs in docs/guides/sizing.md from the history of the benchmarks. */
import { type History, lastOfEach } from './history.ts';
import { replacePart } from './page.ts';

interface Work {
  what: string;
  scenario: string;
  /** Measure of the CPU time of Belfry, in µs. */
  belfry: string;
  /** Measure of the CPU time of PostgreSQL. Undefined: it was not measured. */
  postgres?: string;
  /** Measure that includes both, from which that of PostgreSQL follows. */
  total?: string;
}

const works: Work[] = [
  {
    what: 'one stored trigger',
    scenario: 'triggers',
    belfry: 'CPU time of the API per trigger',
    postgres: 'CPU time of PostgreSQL per trigger',
  },
  {
    what: 'one message for one trigger, from the request to the stored outcome (the everyday case)',
    scenario: 'everyday',
    belfry: 'CPU time of the service per message',
    postgres: 'CPU time of PostgreSQL per message',
  },
  {
    what: 'one 5 kB email of a mailing',
    scenario: 'mail',
    belfry: 'CPU time of the service per email',
    total: 'CPU time per email',
  },
  {
    what: 'one message of a large mailing, without its provider and PostgreSQL',
    scenario: 'fan-out',
    belfry: 'CPU time of the worker per delivery',
  },
];

export function writeSizing(page: string, history: History): string {
  return replacePart(page, 'costs', costsTable(history));
}

function costsTable(history: History): string {
  const entries = new Map(lastOfEach(history).map(entry => [entry.scenario, entry]));
  const costOf = (scenario: string, measure: string): number => {
    const row = entries.get(scenario)?.rows.find(each => each.measure === measure);
    if (!row) throw new Error(`the history lacks "${measure}" of ${scenario}`);
    return row.value;
  };
  const lines = works.map(({ what, scenario, belfry, postgres, total }) => {
    const own = costOf(scenario, belfry);
    const database = postgres ? costOf(scenario, postgres) : total ? costOf(scenario, total) - own : undefined;
    const perCore = database === undefined ? '' : (Math.round(1e6 / (own + database) / 50) * 50).toLocaleString('en');
    const cells = [what, micros(own), database === undefined ? '' : micros(database), perCore];
    return `| ${cells.join(' | ')} | \`${scenario}\` |`;
  });
  return [
    '| work | Belfry | PostgreSQL | per second and core | measured in |',
    '|---|---:|---:|---:|---|',
    ...lines,
  ].join('\n');
}

function micros(value: number): string {
  return `${Math.round(value)} µs`;
}
