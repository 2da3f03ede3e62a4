/** The sample context of an event, used for simulations and previews and kept while the tab is open. */
import { useSessionStorage } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { api, take } from '../api.ts';
import { read } from '../queries.ts';
import { useCan } from '../session.tsx';
import { texts } from '../texts/events.ts';
import { eventQuery } from './resource-api.ts';

export interface EventPath {
  org: string;
  prj: string;
  app: string;
  evt: string;
}

export interface Sample {
  text: string;
  setText: (text: string) => void;
  /** Undefined while the text is not a JSON object. */
  context: Record<string, unknown> | undefined;
  problem: string | undefined;
  /** Example derived from the event's schema; empty without a schema. */
  example: Record<string, unknown>;
}

/** `everyMs`: refresh interval. */
export function useRecent({ org, prj, app, evt }: EventPath, everyMs?: number) {
  const can = useCan();
  return useQuery({
    ...read('/api/o/{org}/occurrence/', {
      path: { org },
      query: { project: prj, application: app, event: evt, limit: 8 },
    }),
    enabled: can('occurrence:read'),
    refetchInterval: everyMs ?? false,
  });
}

export async function contextOf(org: string, identifier: string): Promise<Record<string, unknown>> {
  return (await take(api.GET('/api/o/{org}/occurrence/{identifier}/', { params: { path: { org, identifier } } })))
    .context;
}

function keyOf({ org, prj, app, evt }: EventPath): string {
  return `belfry-sample ${org}/${prj}/${app}/${evt}`;
}

/** Stores the sample of an event whose page is not open yet, in the format that `useSample` reads. */
export function rememberSample(path: EventPath, context: Record<string, unknown>): void {
  sessionStorage.setItem(keyOf(path), JSON.stringify(format(context)));
}

/** Starts with the example of the event's schema, otherwise with the context of the newest occurrence. */
export function useSample(path: EventPath): Sample {
  const can = useCan();
  const event = useQuery({ ...eventQuery(path), enabled: can('event:list') });
  const example = event.data?.value.sample_context;
  const [stored, setText] = useSessionStorage<string | null>({
    key: keyOf(path),
    defaultValue: null,
    getInitialValueInEffect: false,
  });
  const recent = useRecent(path);
  const isWanted = stored === null && example == null && !event.isLoading;
  const newest = isWanted ? recent.data?.[0]?.identifier : undefined;
  useEffect(() => {
    if (newest)
      void contextOf(path.org, newest).then(
        context => setText(format(context)),
        () => {},
      );
  }, [newest, path.org, setText]);
  const text = stored ?? (example ? format(example) : '{}');
  const read = useMemo(() => parseObject(text), [text]);
  return { text, setText, ...read, example: example ?? {} };
}

export function format(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** Parses a JSON object; empty text counts as an empty object. */
export function parseObject(text: string): Pick<Sample, 'context' | 'problem'> {
  if (text.trim() === '') return { context: {}, problem: undefined };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return { context: value as Record<string, unknown>, problem: undefined };
    }
    return { context: undefined, problem: texts.mustBeAJsonObject };
  } catch (error) {
    return { context: undefined, problem: texts.notValidJson((error as Error).message) };
  }
}
