/** The recipients that a step, or a notification, can have from a list or a schedule, as options of one select. */
import { useQuery } from '@tanstack/react-query';
import type { EventPath } from '../events/sample.ts';
import { read } from '../queries.ts';
import { useCan } from '../session.tsx';
import { texts } from '../texts/designer.ts';
import { type Audience, audienceValue, onCallValue } from './audience-value.ts';

interface Option {
  value: string;
  label: string;
}

function optionOf(schedule: string, offset: number, name = schedule): Option {
  const label =
    offset === 0
      ? texts.onCallOf(name)
      : offset === 1
        ? texts.nextOnCallOf(name)
        : texts.laterOnCallOf(name, String(offset));
  return { value: onCallValue(schedule, offset), label };
}

/** Adds what is selected, if it is not among the options. */
export function withOwn(options: Option[], own: Audience): Option[] {
  const value = audienceValue(own);
  if (value === null || own.schedule === '' || options.some(one => one.value === value)) return options;
  const { list, schedule, offset = 0 } = own;
  return [list === undefined ? optionOf(schedule!, offset) : { value, label: list }, ...options];
}

export function useSchedules({ org, prj }: EventPath): { slug: string; name: string }[] {
  const can = useCan();
  const { data = [] } = useQuery({
    ...read('/api/o/{org}/p/{prj}/schedules/', { path: { org, prj } }),
    enabled: can('schedule:read'),
    staleTime: 30_000,
  });
  return data;
}

/** Who is on call in each schedule of the project, and who is next. */
export function useOnCall(path: EventPath): Option[] {
  return useSchedules(path).flatMap(({ slug, name }) => [optionOf(slug, 0, name), optionOf(slug, 1, name)]);
}

export function useAudiences(path: EventPath): Option[] {
  const lists = useLists(path).data?.map(({ name }) => ({ value: audienceValue({ list: name })!, label: name })) ?? [];
  return [...lists, ...useOnCall(path)];
}

export function useLists({ org, prj }: EventPath) {
  const can = useCan();
  return useQuery({
    ...read('/api/o/{org}/p/{prj}/d/', { path: { org, prj } }),
    enabled: can('distributionlist:read'),
    staleTime: 30_000,
  });
}
