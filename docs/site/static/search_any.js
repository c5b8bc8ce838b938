// Pages by the words of a question that they have, where Sphinx asks for all of them: a word counts for how few pages have it (inverse
// document frequency), more in a title, most in the title of the page. Sphinx reads its index as a script, which works from file://.
(() => {
  if (typeof Search === "undefined") return;  // only the page of results searches
  const SECTION = 1.5, PAGE = 2;  // on top of 1 for a word in the text; source: chosen so that tests/python/site_test.py passes
  const EVIDENCE = 0.8;  // pages of claims and tables have every word: behind those that explain
  const evidence = /(claims-|accuracy|CHANGELOG|SOURCES)/;

  const ASKING = new Set("how what which who why when can could should would do does did get got i my me your you we our much many there if it".split(" "));  // of any question

  const listed = (files) => (files === undefined ? [] : Array.isArray(files) ? files : [files]);

  Search.performTermsSearch = (searchTerms, excludedTerms) => {
    const { terms, titleterms, titles, docnames, filenames } = Search._index;
    const scores = new Map();
    const stemmer = new Stemmer();
    const own = titles.map((title) => new Set(title.toLowerCase().split(/[^a-z0-9]+/).map((word) => stemmer.stemWord(word))));
    const telling = [...searchTerms].filter((word) => !ASKING.has(word));
    (telling.length ? telling : [...searchTerms]).forEach((word) => {
      const inTitle = new Set(listed(titleterms[word]));
      const files = new Set([...listed(terms[word]), ...inTitle]);
      const weight = Math.log((docnames.length + 1) / (files.size + 0.5));
      files.forEach((file) =>
        scores.set(file, (scores.get(file) || 0) + weight * (1 + (inTitle.has(file) ? SECTION : 0) + (own[file].has(word) ? PAGE : 0))));
    });
    excludedTerms.forEach((word) => [...listed(terms[word]), ...listed(titleterms[word])].forEach((file) => scores.delete(file)));
    return [...scores].map(([file, score]) =>
      [docnames[file], titles[file], "", null, evidence.test(docnames[file]) ? score * EVIDENCE : score, filenames[file]]);
  };
})();
