/** SQL text about the context of an occurrence `o`, which is replaced when the severity rises. */
import { severities } from '../../core/sources/alert.ts';

const ranked = `'{${severities.join(',')}}'::text[]`;

/** Replaces the context by a parameter, and keeps the one before. */
export const raiseText = (context: string) => `context = ${context}::jsonb,
      earlier_contexts = coalesce(o.earlier_contexts, '[]') || jsonb_build_object('until', now(), 'context', o.context)`;

/** Whether the context in a parameter has a higher severity. */
export const isRaisedText = (context: string) => `array_position(${ranked}, ${context}::jsonb ->> 'severity')
      < coalesce(array_position(${ranked}, o.context ->> 'severity'), ${severities.length + 1})`;

/** The context at a time. */
export const contextAtText = (time: string) => `(case when o.earlier_contexts is null then o.context else coalesce((
        select e.context from jsonb_to_recordset(o.earlier_contexts) as e (until timestamptz, context jsonb)
        where ${time} < e.until order by e.until limit 1), o.context) end)`;
