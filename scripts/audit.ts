/**
 * Fails when a package that Belfry runs on has a known vulnerability. Where nobody can be asked, as without a network, it
 * says so in one line and stops nobody: what cannot be known here is known where the change is merged.
 */
import { npm } from './npm.ts';

interface Vulnerability {
  name: string;
  severity: string;
  range: string;
  /** Advisories, or names of packages that it has its trouble from. */
  via: (string | { title: string; url: string })[];
}

interface Report {
  vulnerabilities?: Record<string, Vulnerability>;
  message?: string;
  error?: { summary: string };
}

/** A backstop: it is the network that is slow, and that has a shorter one below. */
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
  console.log(
    `Skipped the audit of packages: ${firstLine(message) || firstLine(error?.summary) || 'npm gave no answer in time'}.`,
  );
} else {
  const found = Object.values(vulnerabilities);
  for (const { name, severity, range, via } of found) {
    const why = via.map(one => (typeof one === 'string' ? `by ${one}` : `${one.title} (${one.url})`));
    console.error(`${name} ${range}: ${severity}: ${why.join('; ')}`);
  }
  if (found.length > 0) {
    console.error('Belfry runs on packages with known vulnerabilities: move to versions without, see `npm audit`.');
    process.exitCode = 1;
  } else console.log('No package that Belfry runs on has a known vulnerability.');
}

function parse(json: string): Report {
  try {
    return JSON.parse(json) as Report;
  } catch {
    return {};
  }
}

/** Without the address that was asked: it is whatever this machine is set up with. */
function firstLine(words = ''): string {
  return words
    .split('\n')[0]!
    .replace(/ - \w+ https?:\S+.*$/, '')
    .replace(/\s*https?:\S+/g, '');
}
