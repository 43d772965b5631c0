// SPDX-License-Identifier: BSD-2-Clause
// Effects on a clip: side by side with it, in a video or in a window.
#pragma once

#include "contact_sheet.hpp"
#include "effect.hpp"
#include "findings.hpp"
#include "mosaic.hpp"
#include "options.hpp"
#include "output.hpp"
#include "scene.hpp"
#include "source.hpp"
#include "table.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// Whether Ctrl-C has been pressed since a show began.
bool is_interrupted();

class Show {
  public:
    Show(const Options &options, const std::vector<std::string> &effects);
    ~Show();
    Show(const Show &) = delete;
    Show &operator=(const Show &) = delete;

    void run();
    void report() const;
    // Of several effects in a file, one row of all.
    std::vector<Row> rows() const;
    const std::string &suffix() const { return output_.suffix; } // of the video, or "" in a window

  private:
    using Clock = std::chrono::steady_clock;

    // An effect beside the clip.
    struct Tile {
        explicit Tile(const std::string &description)
            : effect(description), findings(effect.element()) {}

        Show *show = nullptr;
        Effect effect;
        Findings findings;
        std::string label;
        Element overlay; // that writes it, if there is one
        std::atomic<int> frames = 0;
        int labelled_frames = 0; // by the time of the label
    };

    bool in_window() const { return options_.window; }
    bool is_alone() const { return tiles_.size() == 1; }
    std::string clip_name() const;
    std::string path(const std::string &suffix) const;
    std::string part(const std::string &suffix) const;
    std::vector<std::string> suffixes() const; // of the files

    void choose_clip();
    void check_results() const;
    void build();
    std::string describe_pipeline() const;
    std::string describe_clip() const;
    std::string describe_mixer() const;
    static std::string describe_label(const std::string &number);
    void insert_effects();
    void watch();
    GstElement *child(const std::string &name) const;
    void place_tiles(int width, int height);
    Size window_cell() const;
    Size file_cell(int width, int height) const;
    static void write_label(GstElement *overlay, const std::string &text);

    static GstPadProbeReturn place(GstPad *pad, GstPadProbeInfo *probe, gpointer show);
    static GstPadProbeReturn count(GstPad *pad, GstPadProbeInfo *probe, gpointer show);
    static GstPadProbeReturn draw_scene(GstPad *pad, GstPadProbeInfo *probe, gpointer show);
    static GstPadProbeReturn look(GstPad *pad, GstPadProbeInfo *probe, gpointer show);
    static GstPadProbeReturn look_at_tile(GstPad *pad, GstPadProbeInfo *probe, gpointer tile);

    bool is_live() const;
    bool is_over(GstMessage *message);
    void check_stall();
    bool says_closed(GstMessage *message) const;
    void write_rates();
    void progress(bool end);
    void finish();

    const Options options_;
    const Output output_;
    std::vector<std::unique_ptr<Tile>> tiles_;
    const Mosaic mosaic_; // of the clip and these
    std::string stem_;    // of the files
    Clip clip_;
    std::optional<Scene> scene_;
    std::optional<Source> source_; // unless there is a scene
    std::string missing_;          // a decoder
    std::optional<Folder> folder_; // unless there is a window
    Element pipeline_, mixer_;
    ContactSheet sheet_{mosaic_};
    std::atomic<int> limit_;        // 0 = none
    std::atomic<int> received_ = 0; // of the clip
    std::atomic<int> frames_ = 0;
    int moves_ = 0; // what check_stall() has seen
    std::atomic<gint64> position_ = 0;
    Clock::time_point start_, shown_, labelled_, moved_; // of the progress, the rates, a move
    double seconds_ = 0;
};
