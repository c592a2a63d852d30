from capscope_experiments.saved_runs import load_result, save_result


def test_a_result_is_saved_even_if_its_folder_is_missing(tmp_path):
    path = tmp_path / "runs" / "blocksworld" / "curve.json"
    save_result(path, {"seed": 0}, [1, 2])
    assert load_result(path, {"seed": 0}) == [1, 2]


def test_a_result_is_loaded_only_under_the_terms_it_was_computed_under(tmp_path):
    path = tmp_path / "result.json"
    save_result(path, {"seeds": (0, 1)}, "kept")
    assert load_result(path, {"seeds": (0, 1)}) == "kept"
    assert load_result(path, {"seeds": (0, 2)}) is None
    assert load_result(tmp_path / "missing.json", {}) is None


def test_a_file_that_is_no_result_is_ignored(tmp_path):
    path = tmp_path / "result.json"
    path.write_text("[not json")
    assert load_result(path, {}) is None
