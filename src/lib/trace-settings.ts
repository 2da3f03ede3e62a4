/** The standard variables of OpenTelemetry, as far as traces over HTTP need them. All mistakes are told at once. */
export const protocols = ['http/protobuf', 'http/json'] as const;
export const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

export interface TraceSettings {
  /** Where spans are posted to. */
  url: string;
  protocol: (typeof protocols)[number];
  headers: Record<string, string>;
  /** Said of everything that is exported: `service.name` and whatever the operator adds. */
  resource: Record<string, string>;
  sampler: (typeof samplers)[number];
  /** For the samplers that take a part of all traces. */
  ratio: number;
}

/** The values of the variables; empty where they are not set. */
export interface TraceVariables {
  OTEL_EXPORTER_OTLP_ENDPOINT: string;
  OTEL_EXPORTER_OTLP_HEADERS: string;
  OTEL_EXPORTER_OTLP_PROTOCOL: string;
  OTEL_SERVICE_NAME: string;
  OTEL_RESOURCE_ATTRIBUTES: string;
  OTEL_TRACES_SAMPLER: string;
  OTEL_TRACES_SAMPLER_ARG: string;
}

export interface TraceMistake {
  name: keyof TraceVariables;
  message: string;
}

/** Undefined without an endpoint: then nothing else is looked at, as other programs may read the same variables. */
export function readTraceSettings(
  given: TraceVariables,
): { settings: TraceSettings } | { mistakes: TraceMistake[] } | undefined {
  if (given.OTEL_EXPORTER_OTLP_ENDPOINT === '') return undefined;
  const mistakes: TraceMistake[] = [];
  const complain = (name: TraceMistake['name'], message: string) => mistakes.push({ name, message });
  const oneOf = <T extends string>(name: TraceMistake['name'], allowed: readonly T[]): T => {
    const value = given[name].toLowerCase() as T;
    if (!allowed.includes(value)) complain(name, `must be one of ${allowed.join(', ')}`);
    return value;
  };
  const pairs = (name: TraceMistake['name']): Record<string, string> => {
    const found = readPairs(given[name]);
    // Headers hold secrets, so what was given is not repeated.
    if (!found) complain(name, 'must be name=value, several separated by commas, with what is special percent-encoded');
    return found ?? {};
  };

  const endpoint = readEndpoint(given.OTEL_EXPORTER_OTLP_ENDPOINT);
  if ('mistake' in endpoint) complain('OTEL_EXPORTER_OTLP_ENDPOINT', endpoint.mistake);
  const headers = pairs('OTEL_EXPORTER_OTLP_HEADERS');
  if (Object.entries(headers).some(([name, value]) => !isHeader(name, value))) {
    complain('OTEL_EXPORTER_OTLP_HEADERS', 'has a name or a value that no HTTP header can have');
  }
  const ratio = given.OTEL_TRACES_SAMPLER_ARG === '' ? 1 : Number(given.OTEL_TRACES_SAMPLER_ARG);
  if (!(ratio >= 0 && ratio <= 1)) complain('OTEL_TRACES_SAMPLER_ARG', 'must be a number from 0 to 1');
  const serviceName = given.OTEL_SERVICE_NAME;
  const settings: TraceSettings = {
    url: 'url' in endpoint ? endpoint.url : '',
    protocol: oneOf('OTEL_EXPORTER_OTLP_PROTOCOL', protocols),
    headers,
    resource: {
      'service.name': 'belfry',
      ...pairs('OTEL_RESOURCE_ATTRIBUTES'),
      ...(serviceName && { 'service.name': serviceName }),
    },
    sampler: oneOf('OTEL_TRACES_SAMPLER', samplers),
    ratio,
  };
  return mistakes.length > 0 ? { mistakes } : { settings };
}

function readEndpoint(text: string): { url: string } | { mistake: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    return { mistake: 'must be an address that starts with http:// or https://, such as http://127.0.0.1:4318' };
  }
  if (url.username || url.password) {
    return { mistake: 'must have no user name or password in it: use OTEL_EXPORTER_OTLP_HEADERS' };
  }
  return { url: `${text.replace(/\/+$/, '')}/v1/traces` };
}

/** Undefined where it cannot be read. */
function readPairs(text: string): Record<string, string> | undefined {
  const pairs: Record<string, string> = {};
  for (const part of text.split(',')) {
    if (part.trim() === '') continue;
    const at = part.indexOf('=');
    const name = part.slice(0, at).trim();
    if (at < 1 || name === '') return undefined;
    try {
      pairs[decodeURIComponent(name)] = decodeURIComponent(part.slice(at + 1).trim());
    } catch {
      return undefined;
    }
  }
  return pairs;
}

function isHeader(name: string, value: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e]*$/.test(value);
}
