export interface SourcePath {
  org: string;
  prj: string;
  app: string;
  source: string;
}
