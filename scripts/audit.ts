/**
 * Fails if a runtime package has a known vulnerability. If the audit service cannot be reached, it says "not audited" and succeeds,
 * because registries need not offer one. CI repeats the result, from the file that AUDIT_RESULT names, in its last lines.
 */
import { writeFileSync } from 'node:fs';
import { npm } from './npm.ts';

interface Vulnerability {
  name: string;
  severity: string;
  range: string;
  /** Advisories, or names of the vulnerable packages that it depends on. */
  via: (string | { title: string; url: string })[];
}

interface Report {
  vulnerabilities?: Record<string, Vulnerability>;
  message?: string;
  error?: { summary: string };
}

/** A fallback; the network requests have a shorter timeout below. */
const timeoutMs = 120_000;

const text = await npm(
  ['audit', '--omit=dev', '--json', '--package-lock-only'],
  {
    npm_config_fetch_retries: '0',
    npm_config_fetch_timeout: '10000',
    npm_config_audit: 'true',
    npm_config_update_notifier: 'false',
  },
  timeoutMs,
);
const { vulnerabilities, message, error } = parse(text);

if (!vulnerabilities) {
  const reason = firstLine(message) || firstLine(error?.summary) || 'npm did not respond in time';
  report(`not audited: ${reason}`);
} else {
  const found = Object.values(vulnerabilities);
  for (const { name, severity, range, via } of found) {
    const why = via.map(one => (typeof one === 'string' ? `through ${one}` : `${one.title} (${one.url})`));
    console.error(`${name} ${range}: ${severity}: ${why.join('; ')}`);
  }
  if (found.length > 0) {
    report('audited: runtime packages have known vulnerabilities: upgrade them, see `npm audit`');
    process.exitCode = 1;
  } else report('audited: no runtime package has a known vulnerability');
}

function report(result: string): void {
  console.log(result);
  if (process.env.AUDIT_RESULT) writeFileSync(process.env.AUDIT_RESULT, `${result}\n`);
}

function parse(json: string): Report {
  try {
    return JSON.parse(json) as Report;
  } catch {
    return {};
  }
}

/** Returns the first line without URLs, because the registry depends on the machine's configuration. */
function firstLine(text = ''): string {
  return text
    .split('\n')[0]!
    .replace(/ - \w+ https?:\S+.*$/, '')
    .replace(/\s*https?:\S+/g, '');
}
