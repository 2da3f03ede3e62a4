import { Type } from 'typebox';
import { responseFieldsOf } from '../../../core/configuration/entries.ts';
import { pickFields } from '../../../core/configuration/nouns/noun.ts';
import { watch as noun } from '../../../core/configuration/nouns/watch.ts';
import * as watches from '../../../services/history/levels/watches.ts';
import { entryEndpoints } from '../../configuration/entry-endpoints.ts';
import { slugsOf } from '../../server/route.ts';

const Watch = Type.Object(responseFieldsOf(noun), { $id: 'Watch' });

export const entry = entryEndpoints(['org', 'prj', 'app'], 'watch', {
  kind: watches.watch,
  tag: 'Service levels',
  at: 'watches',
  answer: Watch,
  create: call => watches.createWatch(call.deps, slugsOf(call), call.body),
  show: (_, watch: watches.Watch) => pickFields(noun, watch),
  showRow: (_, row) => pickFields(noun, row as never) as never,
  descriptions: {
    create:
      'Its first rehearsal begins within seconds. Only channels whose provider is `sandbox` are used. *Retrieve service levels* shows how it goes.',
    delete: 'The URL is not called any more.',
  },
});
