/** Reads OpenTelemetry's standard variables for traces over HTTP. All mistakes are reported at once. */
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
  /** The URL that spans are posted to. */
  url: string;
  protocol: (typeof protocols)[number];
  headers: Record<string, string>;
  /** Attributes of everything that is exported: `service.name` and those that the operator adds. */
  resource: Record<string, string>;
  sampler: (typeof samplers)[number];
  /** The share of traces that ratio-based samplers keep. */
  ratio: number;
}

/** The values of the variables; empty if not set. */
export interface TraceVariables {
  OTEL_EXPORTER_OTLP_ENDPOINT: string;
  OTEL_EXPORTER_OTLP_HEADERS: string;
  OTEL_EXPORTER_OTLP_PROTOCOL: string;
  OTEL_SERVICE_NAME: string;
  OTEL_RESOURCE_ATTRIBUTES: string;
  OTEL_TRACES_SAMPLER: string;
  OTEL_TRACES_SAMPLER_ARG: string;
}

interface TraceMistake {
  name: keyof TraceVariables;
  message: string;
}

/** Returns undefined without an endpoint. The other variables are then not checked, as other programs may use them. */
export function readTraceSettings(
  variables: TraceVariables,
): { settings: TraceSettings } | { mistakes: TraceMistake[] } | undefined {
  if (variables.OTEL_EXPORTER_OTLP_ENDPOINT === '') return undefined;
  const mistakes: TraceMistake[] = [];
  const addMistake = (name: TraceMistake['name'], message: string) => mistakes.push({ name, message });
  const oneOf = <T extends string>(name: TraceMistake['name'], allowed: readonly T[]): T => {
    const value = variables[name].toLowerCase() as T;
    if (!allowed.includes(value)) addMistake(name, `must be one of ${allowed.join(', ')}`);
    return value;
  };
  const pairs = (name: TraceMistake['name']): Record<string, string> => {
    const found = readPairs(variables[name]);
    // Headers contain secrets, so the value is not quoted.
    if (!found)
      addMistake(name, 'must be name=value pairs separated by commas, with special characters percent-encoded');
    return found ?? {};
  };

  const endpoint = readEndpoint(variables.OTEL_EXPORTER_OTLP_ENDPOINT);
  if ('mistake' in endpoint) addMistake('OTEL_EXPORTER_OTLP_ENDPOINT', endpoint.mistake);
  const headers = pairs('OTEL_EXPORTER_OTLP_HEADERS');
  if (Object.entries(headers).some(([name, value]) => !isHeader(name, value))) {
    addMistake('OTEL_EXPORTER_OTLP_HEADERS', 'has a name or a value that is not valid in an HTTP header');
  }
  const ratio = variables.OTEL_TRACES_SAMPLER_ARG === '' ? 1 : Number(variables.OTEL_TRACES_SAMPLER_ARG);
  if (!(ratio >= 0 && ratio <= 1)) addMistake('OTEL_TRACES_SAMPLER_ARG', 'must be a number from 0 to 1');
  const serviceName = variables.OTEL_SERVICE_NAME;
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
    return { mistake: 'must be a URL that starts with http:// or https://, such as http://127.0.0.1:4318' };
  }
  if (url.username || url.password) {
    return { mistake: 'must not contain a user name or password: use OTEL_EXPORTER_OTLP_HEADERS' };
  }
  return { url: `${text.replace(/\/+$/, '')}/v1/traces` };
}

/** Returns undefined if the text is malformed. */
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
