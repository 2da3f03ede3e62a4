/** A list, or a schedule with an offset, as the value of an option. */
export interface Audience {
  list?: string | undefined;
  schedule?: string | undefined;
  offset?: number | undefined;
}

const listPrefix = 'list ';

/** A slug contains no space. */
export const onCallValue = (schedule: string, offset: number): string => `schedule ${schedule} ${offset}`;

export function audienceValue({ list, schedule, offset = 0 }: Audience): string | null {
  if (list !== undefined) return `${listPrefix}${list}`;
  return schedule === undefined ? null : onCallValue(schedule, offset);
}

export function readValue(value: string | null): Audience {
  if (value?.startsWith(listPrefix))
    return { list: value.slice(listPrefix.length), schedule: undefined, offset: undefined };
  const [, schedule, offset] = value?.split(' ') ?? [];
  return { list: undefined, schedule, offset: Number(offset) || undefined };
}
