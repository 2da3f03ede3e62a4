import { FileInput } from '@mantine/core';
import { ApiError, api, take } from '../../api.ts';
import type { SuppressionsImported } from '../../api-types.ts';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { count } from '../../components/counts.tsx';
import { useOrg } from '../../paths.ts';
import { texts } from '../../texts/suppressions.ts';

/** With more errors, only the first one is shown; it says how many more there are. */
const maxErrors = 10;

export function ImportSuppressions({ close }: { close: () => void }) {
  const org = useOrg();
  const importing = useApiForm({
    initialValues: { file: null as File | null },
    validate: ({ file }): Record<string, string> => (file ? {} : { file: texts.fileRequired }),
    run: async ({ file }) => {
      const body = await file!.text();
      try {
        return (await take(
          api.POST('/api/o/{org}/suppressions/import/', {
            params: { path: { org } },
            body,
            bodySerializer: text => text as string,
            headers: { 'content-type': 'text/csv' },
          }),
        )) as SuppressionsImported;
      } catch (error) {
        if (!(error instanceof ApiError) || Object.keys(error.errors).length <= maxErrors) throw error;
        throw new ApiError(error.status, { ...error.problem, errors: {} });
      }
    },
    done: ({ added, extended, existing }) => texts.imported(count(added), count(extended + existing)),
    refresh: ['/api/o/{org}/suppressions/'],
    onDone: close,
  });
  return (
    <FormModal of={importing} title={texts.importTitle} submit={texts.importSubmit} size="lg" close={close}>
      <FileInput
        label={texts.file}
        description={texts.fileHint}
        placeholder={texts.chooseFile}
        accept=".csv,.tsv,.txt,text/csv"
        data-autofocus
        {...importing.form.getInputProps('file')}
      />
    </FormModal>
  );
}
